import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { deserialize, serialize } from 'node:v8'
import { MemorySaver } from '@langchain/langgraph'

/** A checkpointer in a file, so that a later process of a world continues the threads. */
export class FileSaver extends MemorySaver {
  readonly #file: string

  constructor(file: string) {
    super()
    this.#file = file
    if (existsSync(file)) Object.assign(this, deserialize(readFileSync(file)))
  }

  override async put(...parameters: Parameters<MemorySaver['put']>): ReturnType<MemorySaver['put']> {
    const config = await super.put(...parameters)
    this.#save()
    return config
  }

  override async putWrites(...parameters: Parameters<MemorySaver['putWrites']>): Promise<void> {
    await super.putWrites(...parameters)
    this.#save()
  }

  #save(): void {
    writeFileSync(this.#file, serialize({ storage: this.storage, writes: this.writes }))
  }
}
