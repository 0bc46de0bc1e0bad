import type { ComponentChildren } from 'preact'

interface DataTableProps<Row> {
  /** Accessible name of the table. */
  readonly label?: string
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  /** Renders the cells of a row, by the titles of their columns. */
  readonly columns: Readonly<Record<string, (row: Row) => ComponentChildren>>
  /** Renders the buttons of a row. @default no buttons */
  readonly actions?: (row: Row) => ComponentChildren
}

/** Renders a table. On a small screen, each row becomes a list of labelled fields. */
export function DataTable<Row>({
  label,
  rows,
  keyOf,
  columns,
  actions,
}: DataTableProps<Row>): ComponentChildren {
  return (
    <table class="history" aria-label={label}>
      <thead>
        <tr>
          {Object.keys(columns).map(title => (
            <th key={title} scope="col">
              {title}
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
            {Object.entries(columns).map(([title, render]) => (
              <td key={title} data-label={title}>
                {render(row)}
              </td>
            ))}
            {actions !== undefined && <td>{actions(row)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
