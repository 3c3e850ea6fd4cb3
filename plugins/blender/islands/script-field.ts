/**
 * Turns fields for Python into editors, which are loaded when a field comes into view. Without this script the fields
 * stay.
 */
for (const field of document.querySelectorAll<HTMLTextAreaElement>('textarea[data-editor]')) {
  const seen = new IntersectionObserver(
    (entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return
      seen.disconnect()
      import(field.dataset.editor ?? '').then(({ edit }) => edit(field)).catch(() => {})
    },
    { rootMargin: '300px' },
  )
  seen.observe(field)
}
