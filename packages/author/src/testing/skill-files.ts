import type { SkillToCheck } from '../check/checked-skill.ts'

/** Makes a skill called `vat-report` from the texts of its files. */
export function toSkill(
  files: Readonly<Record<string, string>>,
  { outside = [], ...given }: Partial<SkillToCheck> & { readonly outside?: readonly string[] } = {},
): SkillToCheck {
  const paths = Object.keys(files)
  return {
    directoryName: 'vat-report',
    path: 'vat-report/SKILL.md',
    bytes: new TextEncoder().encode(files['SKILL.md'] ?? ''),
    files: paths.map(path => ({ path, size: (files[path] ?? '').length, isExecutable: false })),
    read: path => Promise.resolve(files[path]),
    exists: path => outside.includes(path),
    ...given,
  }
}
