import { useEffect, useRef, useState } from 'preact/hooks'
import type { ViewerFiles } from '../../../assets/index.ts'
import { html, type View } from './html.ts'

/** What the script of the viewer exports. */
interface ViewerScript {
  createViewer(model: { src: string; alt: string; decoders: ViewerFiles['decoders'] }): HTMLElement
}

/** Shows a model that can be turned. The viewer loads at the first one. */
export function ModelPane({ src, path, viewer }: { src: string; path: string; viewer: ViewerFiles }): View {
  const frame = useRef<HTMLDivElement>(null)
  const [said, setSaid] = useState('Loading the model …')
  useEffect(() => {
    const failed = () => setSaid('This browser could not show the model.')
    const show = async () => {
      const { createViewer } = (await import(viewer.script)) as ViewerScript
      const element = createViewer({ src, alt: `3D model: ${path}`, decoders: viewer.decoders })
      element.addEventListener('load', () => setSaid(''))
      element.addEventListener('error', failed)
      frame.current?.replaceChildren(element)
    }
    show().catch(failed)
  }, [src, path, viewer])
  return html`
    <div class="code-shown code-model">
      <div ref=${frame}></div>
      <p class="code-status" role="status">${said} <a href=${src} download=${path.slice(path.lastIndexOf('/') + 1)}>Download</a></p>
    </div>`
}
