import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { createJiti } from 'jiti'
import { createServer } from 'vite'
import { ViteNodeRunner } from 'vite-node/client'
import { ViteNodeServer } from 'vite-node/server'

/** A way to load and call a module that was changed. */
export interface ScriptPeer extends AsyncDisposable {
  readonly name: string
  /** Loads the module again, calls it and returns its answer. Some peers still run the old code and return its answer. */
  readonly reload: () => Promise<number>
}

interface Answering {
  readonly answer: () => number
}

/** Starts all peers: the usual ways to run changed code without restarting the host process. */
export async function openPeers(path: string): Promise<readonly ScriptPeer[]> {
  return [queryString(path), jiti(path), await viteNode(path), workerRestart(path), processRestart(path)]
}

export function queryString(path: string): ScriptPeer {
  let version = 0
  return {
    name: 'import with a query string',
    reload: async () => ((await import(`${pathToFileURL(path).href}?v=${++version}`)) as Answering).answer(),
    [Symbol.asyncDispose]: async () => undefined,
  }
}

function jiti(path: string): ScriptPeer {
  return {
    name: 'jiti 2',
    reload: async () => {
      const load = createJiti(import.meta.url, { fsCache: false, moduleCache: false })
      return (await load.import<Answering>(path)).answer()
    },
    [Symbol.asyncDispose]: async () => undefined,
  }
}

async function viteNode(path: string): Promise<ScriptPeer> {
  const root = dirname(path)
  const server = await createServer({
    root,
    configFile: false,
    logLevel: 'silent',
    optimizeDeps: { noDiscovery: true },
    server: { watch: null, hmr: false, middlewareMode: true, ws: false },
  })
  const node = new ViteNodeServer(server)
  return {
    name: 'vite-node 6',
    reload: async () => {
      server.moduleGraph.invalidateAll()
      node.fetchCaches.ssr.clear()
      node.fetchCaches.web.clear()
      node.fetchCache.clear()
      const runner = new ViteNodeRunner({
        root,
        fetchModule: id => node.fetchModule(id),
        resolveId: (id, importer) => node.resolveId(id, importer),
      })
      return ((await runner.executeFile(path)) as Answering).answer()
    },
    [Symbol.asyncDispose]: async () => await server.close(),
  }
}

function workerRestart(path: string): ScriptPeer {
  const url = JSON.stringify(pathToFileURL(path).href)
  const code = `import(${url}).then(({ answer }) => require('node:worker_threads').parentPort.postMessage(answer()))`
  return {
    name: 'a new worker',
    reload: async () => {
      const worker = new Worker(code, { eval: true })
      const [answer] = (await once(worker, 'message')) as [number]
      await worker.terminate()
      return answer
    },
    [Symbol.asyncDispose]: async () => undefined,
  }
}

/** Returns peers that only start a process. Their time is the minimum cost of running code in a separate process. */
export function openBareProcesses(path: string): readonly ScriptPeer[] {
  return [processRestart(path), bareNode()]
}

function processRestart(path: string): ScriptPeer {
  let ended: Promise<unknown> = Promise.resolve()
  return {
    name: 'a new process',
    reload: async () => {
      const child = fork(new URL('./script-child.ts', import.meta.url), [pathToFileURL(path).href], {
        execArgv: [],
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      })
      const exit = once(child, 'exit')
      // A process that loads a half-written file exits without an answer.
      const [answer] = (await Promise.race([once(child, 'message'), exit.then(() => [])])) as [number?]
      child.kill()
      // Does not wait until the process exits, because the exit is not part of the measured time.
      ended = exit
      if (answer === undefined) throw new Error('the process ended without an answer')
      return answer
    },
    [Symbol.asyncDispose]: async () => void (await ended),
  }
}

/** Starts Node without any code, and waits until the process exits. */
function bareNode(): ScriptPeer {
  return {
    name: 'node -e 0',
    reload: async () => {
      await once(spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }), 'exit')
      return 0
    },
    [Symbol.asyncDispose]: async () => undefined,
  }
}
