// Runs the scripts of skills in sandboxed processes, and finds their commands without running code.
export { type ChildProcesses, childProcesses } from './child-processes.ts'
export { SANDBOX_MODES, type SandboxMode } from './process/sandbox.ts'
export { scanScripts } from './scan/scan-scripts.ts'
export { DEFAULT_SCRIPT_RUNNER_OPTIONS, type ScriptRunnerOptions } from './script-runner-options.ts'
