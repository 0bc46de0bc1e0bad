import type { ComponentChildren } from 'preact'

interface TableProps<Row> {
  readonly label?: string
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  /** The cell of each column by its heading. */
  readonly columns: Readonly<Record<string, (row: Row) => ComponentChildren>>
  /** The buttons of a row. */
  readonly actions?: (row: Row) => ComponentChildren
}

/** Renders a table. On a narrow screen, the style sheet shows each row as a list of headings and cells. */
export function Table<Row>({ label, rows, keyOf, columns, actions }: TableProps<Row>): ComponentChildren {
  return (
    <table class="history" aria-label={label}>
      <thead>
        <tr>
          {Object.keys(columns).map(heading => (
            <th key={heading} scope="col">
              {heading}
            </th>
          ))}
          {actions !== undefined && (
            <th scope="col">
              <span class="hidden">Actions</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {rows.map(row => (
          <tr key={keyOf(row)}>
            {Object.entries(columns).map(([heading, cellOf]) => (
              <td key={heading} data-label={heading}>
                {cellOf(row)}
              </td>
            ))}
            {actions !== undefined && <td>{actions(row)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
