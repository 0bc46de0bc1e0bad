import { isGitName } from './git-layout.ts'
import { decodeAnyText } from './text.ts'

/** Why an entry of a folder is no part of a skill, as its name shows. */
export type LeftOutKind =
  /** Data of git, in any spelling that a disk may read as `.git`. */
  | 'git'
  /** A folder with installed packages. */
  | 'dependencies'
  /** A file or folder that usually contains passwords or keys. */
  | 'secret'
  /** A file or folder that editors, synchronisers, version control, systems or caches create. */
  | 'leftover'

const words = (text: string): readonly string[] => text.trim().split(/\s+/)

const DEPENDENCY_FOLDERS: ReadonlySet<string> = new Set(
  words('node_modules bower_components .pnpm-store .venv venv __pypackages__'),
)

const SECRETS = words(`
  .npmrc .pypirc .netrc _netrc .git-credentials .pgpass .my.cnf .htpasswd .dockercfg .s3cfg .boto .vault-token
  id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk credentials.json
  .ssh .gnupg .aws .kube
`)

const LEFTOVERS = [
  // Version control
  ...words('.svn .hg .jj .bzr .sl .pijul _darcs .fslckout _fossil_'),
  // Settings of editors
  ...words('.idea .vscode .vs .zed .obsidian .history .ropeproject .metals .bloop nppbackup'),
  // Desktops and file servers
  ...words('.directory .ds_store .localized .appledouble .appledb .appledesktop .lsoverride .apdisk'),
  ...words('.spotlight-v100 .trashes .fseventsd .temporaryitems .documentrevisions-v100 .volumeicon.icns'),
  ...words('.com.apple.timemachine.donotpresent thumbs.db ehthumbs.db ehthumbs_vista.db desktop.ini'),
  ...words('$recycle.bin @eadir #recycle lost+found __macosx'),
  ...['icon\r', 'system volume information', 'network trash folder', 'temporary items'],
  // Synchronisers
  ...words('.stfolder .stversions .stignore .sync .dropbox .dropbox.attr .dropbox.cache .owncloudsync.log'),
  ...words('.nextcloudsync.log .tmp.drivedownload .tmp.driveupload .~tmp~ .rsync-partial'),
  // Caches
  ...words(
    '__pycache__ .pytest_cache .mypy_cache .ruff_cache .hypothesis .tox .nox .pytype .pyre .dmypy.json',
  ),
  ...words(
    '.ipynb_checkpoints .coverage .eslintcache .stylelintcache .parcel-cache .turbo .nyc_output .cache',
  ),
  ...words('.sass-cache .gradle .dart_tool .rhistory .rproj.user'),
]

/** Names in lower case, because many disks ignore case. */
const EXACT: ReadonlyMap<string, LeftOutKind> = new Map<string, LeftOutKind>([
  ...LEFTOVERS.map(name => [name, 'leftover'] as const),
  ...SECRETS.map(name => [name, 'secret'] as const),
])

const anyOf = (...patterns: readonly RegExp[]): RegExp =>
  new RegExp(patterns.map(({ source }) => source).join('|'), 'i')

const LEFTOVER = anyOf(
  // Vim, Emacs, Kate, JetBrains, Visual Studio Code, LibreOffice, Microsoft Office
  ...[/~$/, /^#.*#$/, /^\.#/, /\.sw[opx]$/, /^\..+\.sw[a-p]$/, /\.kate-swp$/, /___jb_(?:tmp|old|bak)___$/],
  ...[/\.vsctmp$/, /^\.~lock\./, /^~\$/, /^~wr[a-z]\d{4}\.tmp$/],
  // Desktops and network file systems
  ...[/^\._/, /^\.goutputstream-/, /^\.trash-\d+$/, /\.sb-[0-9a-f]{8}-\w{6}$/],
  ...[/^\(a document being saved by .+\)$/, /^\.nfs/, /^\.fuse_hidden/, /^\.smbdelete/, /^\.__afs/],
  // Synchronisers and downloads
  ...[/^[.~]syncthing[.~]/, /\.sync-conflict-\d{8}-\d{6}/, /\(.*conflicted copy.*\)/, /\.icloud$/],
  ...[/^\.sync_.+\.db/, /^\.csync_journal\.db/, /\.~[0-9a-f]+$/, /\.!sync$/, /^\.unison\./, /\.unison\.tmp$/],
  ...[/^\.mutagen-/, /\.[0-9a-f]{8}\.partial$/, /\.crdownload$/],
  // Atomic writes of agents and libraries, and our own
  ...[/\.tmp\.\d+\.\w+$/, /\.tmp-[0-9a-f]{10,}$/, /^\.tmp-/],
  // Build caches
  /\.tsbuildinfo$/,
  // Kubernetes renames its `..` entries at each update of a volume, even if their content stays the same.
  /^\.\./,
)

const SECRET = anyOf(
  /^\.env(?!(?:\..+)?\.(?:example|sample|template|tmpl|dist|defaults?|schema)$)(?:\..+)?$/,
  /\.(?:p12|pfx|ppk|kdbx|jks|keystore)$/,
  /^client_secret.*\.json$/,
  /^service[-_]account(?:[-_]key)?\.json$/,
)

/**
 * Returns why an entry is no part of a skill, or `undefined` for ordinary entries. Called for each entry of each folder,
 * so it must stay fast.
 */
export function findLeftOutKind(name: string, isFolder: boolean): LeftOutKind | undefined {
  const key = name.toLowerCase()
  const known = EXACT.get(key)
  if (known !== undefined) return known
  if (isFolder && DEPENDENCY_FOLDERS.has(key)) return 'dependencies'
  if (isGitName(name)) return 'git'
  if (LEFTOVER.test(name)) return 'leftover'
  return SECRET.test(name) ? 'secret' : undefined
}

/** Whether an entry is also left out outside of skills. The folder of a skill may have a name such as `venv`. */
export function isNeverRead(name: string): boolean {
  const kind = findLeftOutKind(name, false)
  return kind === 'git' || kind === 'leftover'
}

/**
 * Finds the first segment of a file's path that is no part of a skill. `entry` is the path that ends in this segment.
 */
export function findLeftOutIn(
  path: string,
): { readonly entry: string; readonly kind: LeftOutKind } | undefined {
  for (let start = 0; ; ) {
    const slash = path.indexOf('/', start)
    const end = slash === -1 ? path.length : slash
    const kind = findLeftOutKind(path.slice(start, end), slash !== -1)
    if (kind !== undefined) return { entry: path.slice(0, end), kind }
    if (slash === -1) return undefined
    start = slash + 1
  }
}

const MAY_HOLD_KEY = /\.(?:pem|key|crt|cer|p8|pk8|asc)$/i
const PRIVATE_KEY = /-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----/

/** Whether a file is a private key. Certificates and public keys have the same extensions, so the content decides. */
export function isPrivateKey(path: string, bytes: Uint8Array): boolean {
  return MAY_HOLD_KEY.test(path) && PRIVATE_KEY.test(decodeAnyText(bytes))
}

// Names that tools use while they save: Vim's test whether a folder is writable, `sed -i`, rsync, QSaveFile of KDE, npm, Go, Python, Rust, mktemp, Helix, the
// syntax checks of Emacs. People use such names for files of their own, too.
const BRIEF = new RegExp(
  [
    /^4913$/,
    ...[/^sed[A-Za-z0-9]{6}$/, /^\..+\.[A-Za-z0-9]{6}$/, /.\.(?=[A-Z]*[a-z])(?=[a-z]*[A-Z])[A-Za-z]{6}$/],
    ...[
      /.\.\d{7,}$/,
      /.\.[A-Za-z]{1,8}\d{7,10}$/,
      /^\.?tmp[.-]?\w{6,10}$/,
      /\.(?:tmp|temp|part|partial|bck)$/,
    ],
    ...[/^flycheck_/, /_flymake\./],
  ]
    .map(({ source }) => source)
    .join('|'),
)

/** Whether a tool may soon rename or remove a file of this name. Only the age of the file shows whether it is such a file. */
export function isBriefName(name: string): boolean {
  return BRIEF.test(name)
}
