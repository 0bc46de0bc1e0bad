import type { ReactNode } from 'react'

export const metadata = { title: 'Chat with live skills', icons: 'data:,' }

export default function Layout({ children }: { readonly children: ReactNode }) {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  )
}
