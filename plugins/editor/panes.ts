/** The panes of the page *Code*. On a narrow screen one is shown at a time. */
export const PANES = ['Files', 'Code', 'Preview', 'Assets', 'History'] as const
