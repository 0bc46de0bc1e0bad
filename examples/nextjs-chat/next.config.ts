import { join } from 'node:path'
import type { NextConfig } from 'next'

const config: NextConfig = {
  // In this repository, the packages of Skillstoke are two folders above. Remove this line in your application.
  turbopack: { root: join(import.meta.dirname, '../..') },
}

export default config
