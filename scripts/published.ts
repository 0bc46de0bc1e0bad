import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

// Prints one npm option `--workspace` for each published package.

const folders = readdirSync('packages').map(name => join('packages', name))
const published = folders.filter(folder => {
  const { private: isPrivate } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    private?: boolean
  }
  return isPrivate !== true
})
console.log(published.map(folder => `--workspace ${folder}`).join(' '))
