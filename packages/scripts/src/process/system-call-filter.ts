// Creates a seccomp filter in the form of classic BPF; see seccomp(2) and <linux/filter.h>.

interface Architecture {
  /** `AUDIT_ARCH_...` of <linux/audit.h>. */
  readonly id: number
  readonly calls: {
    readonly addKey: number
    readonly requestKey: number
    readonly keyctl: number
    readonly clone: number
    readonly unshare: number
  }
}

const GENERIC_CALLS = { addKey: 217, requestKey: 218, keyctl: 219, clone: 220, unshare: 97 } as const

const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  x64: {
    id: 0xc000_003e,
    calls: { addKey: 248, requestKey: 249, keyctl: 250, clone: 56, unshare: 272 },
  },
  arm64: { id: 0xc000_00b7, calls: GENERIC_CALLS },
  riscv64: { id: 0xc000_00f3, calls: GENERIC_CALLS },
  loong64: { id: 0xc000_0102, calls: GENERIC_CALLS },
}

/** Number of the system call `clone3`, which is the same on every architecture. */
const CLONE3 = 435
const CLONE_NEWUSER = 0x1000_0000
/** A bit that is set in the numbers of x32 ABI system calls, and in no other system call number. */
const X32_CALLS = 0x4000_0000

const EPERM = 1
const ENOSYS = 38

// Offsets in `struct seccomp_data`. `FIRST_ARGUMENT` is the offset of the lower half of the first argument on little-endian machines.
const NUMBER = 0
const ARCHITECTURE = 4
const FIRST_ARGUMENT = 16

const LOAD_WORD = 0x20
const JUMP_IF_EQUAL = 0x15
const JUMP_IF_AT_LEAST = 0x35
const JUMP_IF_ANY_BIT = 0x45
const RETURN = 0x06

const ALLOW = 0x7fff_0000
const FAIL = 0x0005_0000

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number]

/**
 * Returns a filter for system calls that namespaces do not restrict. The filter blocks access to the keyrings of
 * the host's session, and the creation of user namespaces. Returns `undefined` for architectures that are not in `ARCHITECTURES`.
 */
export function createSystemCallFilter(architecture: string = process.arch): Uint8Array | undefined {
  const known = ARCHITECTURES[architecture]
  return known === undefined ? undefined : encode(toProgram(known))
}

function toProgram({ id, calls }: Architecture): readonly Instruction[] {
  const failIf = (code: number, value: number, error: number): Instruction[] => [
    [code, 0, 1, value],
    [RETURN, 0, 0, FAIL | error],
  ]
  const failForNewUsers = (call: number): Instruction[] => [
    [JUMP_IF_EQUAL, 0, 4, call],
    [LOAD_WORD, 0, 0, FIRST_ARGUMENT],
    [JUMP_IF_ANY_BIT, 0, 1, CLONE_NEWUSER],
    [RETURN, 0, 0, FAIL | EPERM],
    [RETURN, 0, 0, ALLOW],
  ]
  return [
    [LOAD_WORD, 0, 0, ARCHITECTURE],
    [JUMP_IF_EQUAL, 1, 0, id],
    [RETURN, 0, 0, FAIL | ENOSYS],
    [LOAD_WORD, 0, 0, NUMBER],
    ...failIf(JUMP_IF_AT_LEAST, X32_CALLS, ENOSYS),
    ...failIf(JUMP_IF_EQUAL, calls.addKey, EPERM),
    ...failIf(JUMP_IF_EQUAL, calls.requestKey, EPERM),
    ...failIf(JUMP_IF_EQUAL, calls.keyctl, EPERM),
    // A filter cannot read the flags of clone3, which are in memory. The filter reports that clone3 does not exist, so programs use clone instead.
    ...failIf(JUMP_IF_EQUAL, CLONE3, ENOSYS),
    ...failForNewUsers(calls.unshare),
    ...failForNewUsers(calls.clone),
    [RETURN, 0, 0, ALLOW],
  ]
}

/** `struct sock_filter` has eight bytes: a code, two jumps and a value. */
function encode(program: readonly Instruction[]): Uint8Array {
  const bytes = new Uint8Array(program.length * 8)
  const view = new DataView(bytes.buffer)
  program.forEach(([code, ifTrue, ifFalse, value], index) => {
    view.setUint16(index * 8, code, true)
    view.setUint8(index * 8 + 2, ifTrue)
    view.setUint8(index * 8 + 3, ifFalse)
    view.setUint32(index * 8 + 4, value, true)
  })
  return bytes
}
