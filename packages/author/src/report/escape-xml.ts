import { escapeControls } from '@skillstoke/core/internal'

// Some characters are not allowed in XML, not even as references.
const NOT_XML = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu

/** Escapes a text for XML and HTML. */
export function escapeXml(text: string): string {
  return escapeControls(text)
    .replace(NOT_XML, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
