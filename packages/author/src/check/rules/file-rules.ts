import { digestOf, findLeftOutIn, quote } from '@skillstoke/core/internal'
import { portableHasher } from '@skillstoke/core/source'
import { mayHaveTests, readSkillTests } from '../../evals/read-skill-tests.ts'
import { type CheckedSkill, MAX_FILE_BYTES } from '../checked-skill.ts'
import type { Found, Rule } from './rule.ts'

/** Files that people or programs read although no text names them. */
const IS_COMMON =
  /(?:^|\/)(?:licen[cs]e|notice|readme|changelog|contributing|authors|codeowners|security|copying)(?:\.|$|-)|(?:^|\/)(?:tests?|__tests__|evals?|fixtures?|node_modules)\/|(?:^|[/._-])test|\.(?:lock|toml|cfg|ini|ya?ml|gitignore|gitkeep|skillignore)$|(?:^|\/)(?:package(?:-lock)?\.json|tsconfig\.json|requirements[\w.-]*\.txt|makefile|dockerfile|__init__\.py|\.[\w.-]+)$/i

const IS_SKILL_FILE = /^skill\.md$/i
/** The most findings about unused files of one skill. */
const MAX_UNUSED = 10

export const checkSizes: Rule = skill =>
  [...skill.files.values()]
    .filter(({ size }) => size > MAX_FILE_BYTES)
    .map(({ path, size }) => ({
      ...{ code: 'FILE_TOO_LARGE' as const, file: path },
      message: `the file has ${(size / MAX_FILE_BYTES).toFixed(1)} MiB, which every copy of the skill carries`,
      fix: 'use a smaller file, or list it in .skillignore',
    }))

/** Reports what editors, systems and caches left behind. A folder is reported once. */
export const checkLeftovers: Rule = ({ given }) => {
  const entries = (given.leftovers ?? []).flatMap(path => findLeftOutIn(path)?.entry ?? [])
  return [...new Set(entries)].map(entry => ({
    ...{ code: 'FILE_TEMPORARY' as const, file: entry },
    message: 'an editor, a system or a cache left this behind, and it is under version control',
    fix: `write ${quote(nameOf(entry))} into .gitignore, and run "git rm -r --cached" with its path`,
  }))
}

/** Reports tests that cannot be read. */
export const checkTests: Rule = async skill => {
  const files = [...skill.files.values()].filter(mayHaveTests)
  const texts = files.map(async ({ path }) => ({ path, text: (await skill.read(path)) ?? '' }))
  const { faults } = readSkillTests(skill.fields.name, await Promise.all(texts))
  return faults.map(({ path, severity: _severity, ...fault }) => ({ ...fault, file: path }))
}

/** Reports files that no other text of the skill names. */
export const checkUnused: Rule = async skill => {
  const candidates = [...skill.files.keys()].filter(
    path => !IS_SKILL_FILE.test(path) && !IS_COMMON.test(path),
  )
  if (candidates.length === 0 || !skill.isReadable) return []
  // On some systems, a name in another case leads to the file, too.
  const texts = new Map([['SKILL.md', skill.text.toLowerCase()]])
  for (const path of skill.files.keys()) {
    const text = IS_SKILL_FILE.test(path) ? undefined : await skill.read(path)
    if (text !== undefined) texts.set(path, text.toLowerCase())
  }
  const found: Found[] = []
  for (const path of candidates) {
    if (found.length === MAX_UNUSED) break
    if (isNamed(path, texts)) continue
    found.push({
      ...{ code: 'FILE_UNUSED', file: path },
      message: 'no text of the skill names the file or its folder',
      fix: `name ${quote(path)} in SKILL.md, with when to read it, or remove the file`,
    })
  }
  return found
}

/** Whether another text has the name of the file, its name without the ending, or one of its folders. */
function isNamed(path: string, texts: ReadonlyMap<string, string>): boolean {
  const words = [nameOf(path), stemOf(path), ...foldersOf(path)].map(word => word.toLowerCase())
  for (const [from, text] of texts) if (from !== path && words.some(word => hasWord(text, word))) return true
  return false
}

/** Whether a text contains a word, and not only as a part of a longer one: "creates" does not name "rates". */
function hasWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1))
    if (!/\w/.test(text[at - 1] ?? '') && (word.endsWith('/') || !/\w/.test(text[at + word.length] ?? '')))
      return true
  return false
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

function stemOf(path: string): string {
  return nameOf(path).replace(/\.\w+$/, '')
}

function foldersOf(path: string): readonly string[] {
  const parts = path.split('/').slice(0, -1)
  return parts.map((_, index) => `${parts.slice(0, index + 1).join('/')}/`).concat(parts.at(-1) ?? [])
}

export const checkShebangs: Rule = async skill => {
  const found: Found[] = []
  for (const path of skill.files.keys()) {
    if (!isProgram(path)) continue
    const text = (await skill.read(path)) ?? ''
    const end = text.indexOf('\n')
    if (!text.startsWith('#!') || text[end - 1] !== '\r') continue
    found.push({
      ...{ code: 'SHEBANG_CRLF', file: path, line: 1, column: end },
      message: `the first line ${quote(text.slice(0, end - 1), 40)} ends with CR LF, so the system looks for a program whose name ends with CR`,
      fix: 'end the line with LF',
      edit: {
        kind: 'auto',
        title: 'end the first line with LF',
        edits: [{ start: end - 1, end, text: '' }],
        digest: digestOf(text, portableHasher),
      },
    })
  }
  return found
}

/** Reports scripts that an example starts directly, but that are not executable. */
export const checkExecutable: Rule = skill => {
  const found = new Map<string, Found>()
  for (const { text, number, kind } of skill.markdown.lines) {
    const [, path = ''] =
      (kind === 'code' && /^\s*(?:\$ )?(?:\.\/)?(scripts\/[\w./-]+\.\w+)(?:\s|$)/.exec(text)) || []
    const file = skill.files.get(path)
    if (file === undefined || file.isExecutable || found.has(path) || /\.(?:ps1|bat|cmd)$/.test(path))
      continue
    found.set(path, {
      ...{ code: 'SCRIPT_NOT_EXECUTABLE', line: number, column: text.indexOf('scripts/') + 1 },
      message: `${quote(path)} is started directly, but it is not executable`,
      fix: `write ${quote(`${programOf(path)} ${path}`)}`,
    })
  }
  return found.values()
}

const PROGRAMS: Readonly<Record<string, string>> = {
  py: 'python3',
  sh: 'bash',
  js: 'node',
  mjs: 'node',
  ts: 'node',
  rb: 'ruby',
}

function programOf(path: string): string {
  return PROGRAMS[path.split('.').at(-1) ?? ''] ?? 'bash'
}

function isProgram(path: string): boolean {
  return (
    Object.hasOwn(PROGRAMS, path.split('.').at(-1) ?? '') ||
    (path.startsWith('scripts/') && !path.includes('.'))
  )
}

/** Modules of Python 3.13 and the names under which modules of common packages are imported. */
const PYTHON_MODULES = new Set(
  '__future__ __main__ abc aifc argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii bisect builtins bz2 calendar cgi cgitb chunk cmath cmd code codecs codeop collections colorsys compileall concurrent configparser contextlib contextvars copy copyreg crypt csv ctypes curses dataclasses datetime dbm decimal difflib dis distutils doctest email encodings ensurepip enum errno faulthandler fcntl filecmp fileinput fnmatch fractions ftplib functools gc getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html http imaplib imghdr imp importlib inspect io ipaddress itertools json keyword lib2to3 linecache locale logging lzma mailbox mailcap marshal math mimetypes mmap modulefinder multiprocessing netrc nis nntplib ntpath numbers operator optparse os ossaudiodev pathlib pdb pickle pickletools pipes pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty pwd py_compile pyclbr pydoc queue quopri random re readline reprlib resource rlcompleter runpy sched secrets select selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket socketserver spwd sqlite3 sre_compile ssl stat statistics string stringprep struct subprocess sunau symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios test textwrap this threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle types typing typing_extensions unicodedata unittest urllib uu uuid venv warnings wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib zoneinfo'.split(
    ' ',
  ),
)
/** Packages whose name differs from the name of their module. */
const PACKAGE_NAMES: Readonly<Record<string, string>> = {
  bs4: 'beautifulsoup4',
  cv2: 'opencv',
  dateutil: 'python-dateutil',
  docx: 'python-docx',
  dotenv: 'python-dotenv',
  fitz: 'pymupdf',
  pil: 'pillow',
  pptx: 'python-pptx',
  skimage: 'scikit-image',
  sklearn: 'scikit-learn',
  yaml: 'pyyaml',
  crypto: 'pycryptodome',
  google: 'google-',
}

/** Reports imports of Python packages that no text of the skill names. */
export const checkDependencies: Rule = async skill => {
  const scripts = [...skill.files.keys()].filter(path => /^scripts\/(?!.*test).*\.py$/i.test(path))
  if (scripts.length === 0) return []
  const own = new Set(
    [...skill.files.keys()].flatMap(path => path.split('/').map(part => part.replace(/\.py$/, ''))),
  )
  const texts = await readStatements(skill)
  const found = new Map<string, Found>()
  for (const path of scripts) {
    const text = (await skill.read(path)) ?? ''
    for (const { name, line } of listImports(text)) {
      const isKnown = PYTHON_MODULES.has(name) || name.startsWith('_') || own.has(name) || found.has(name)
      if (isKnown || isStated(name, `${texts}\n${headOf(text)}`)) continue
      found.set(name, {
        ...{ code: 'SCRIPT_DEPENDENCY_UNSTATED', file: path, line, column: 1 },
        message: `the script imports ${quote(name)}, and no text of the skill says that it must be installed`,
        fix: `write "Needs ${name}" into the field "compatibility", or list it in requirements.txt`,
      })
    }
  }
  return found.values()
}

/** Returns all texts that may state a package: instructions, references and files of package managers. */
async function readStatements(skill: CheckedSkill): Promise<string> {
  const texts = [skill.text, skill.fields.compatibility]
  for (const path of skill.files.keys())
    if (/\.(?:md|txt|toml|cfg|lock|ya?ml)$/i.test(path)) texts.push((await skill.read(path)) ?? '')
  return texts.join('\n').toLowerCase()
}

/** The comments and the docstring at the start of a script, which may contain inline metadata. */
function headOf(text: string): string {
  return (/^(?:\s+|#.*|"""[\s\S]*?"""|'''[\s\S]*?''')*/.exec(text)?.[0] ?? '').toLowerCase()
}

function isStated(name: string, texts: string): boolean {
  const lower = name.toLowerCase()
  return [lower, lower.replaceAll('_', '-'), PACKAGE_NAMES[lower]].some(
    each => each !== undefined && texts.includes(each),
  )
}

/** Lists imports at the start of a line. Guarded imports are indented. */
function listImports(text: string): readonly { readonly name: string; readonly line: number }[] {
  // Text in triple quotes is no code.
  const code = text.replace(/"""[\s\S]*?"""|'''[\s\S]*?'''/g, quoted => quoted.replace(/[^\n]/g, ''))
  return code.split('\n').flatMap((line, index) => {
    const [, from, names] =
      /^(?:from ([A-Za-z_]\w*)(?:\.[\w.]*)? import\b|import ([\w., ]+))/.exec(line) ?? []
    const found = from === undefined ? (names ?? '').split(',') : [from]
    return found
      .map(name => name.trim().split(/[.\s]/)[0] ?? '')
      .filter(name => name !== '')
      .map(name => ({ name, line: index + 1 }))
  })
}
