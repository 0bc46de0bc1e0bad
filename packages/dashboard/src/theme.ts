const KEY = 'skillstoke-theme'

/** Applies the theme that the person chose earlier. Without a choice, the theme of the system holds. */
export function applyTheme(): void {
  const chosen = localStorage.getItem(KEY)
  if (chosen === 'light' || chosen === 'dark') document.documentElement.classList.add(chosen)
}

export function toggleTheme(): void {
  const { classList } = document.documentElement
  const isDark =
    classList.contains('dark') ||
    (!classList.contains('light') && matchMedia('(prefers-color-scheme: dark)').matches)
  const next = isDark ? 'light' : 'dark'
  classList.remove('light', 'dark')
  classList.add(next)
  localStorage.setItem(KEY, next)
}
