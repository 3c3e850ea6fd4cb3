import type { DraftFileInfo } from '../../schemas.ts'

/** A folder of the tree, or a file. */
export interface TreeNode {
  name: string
  path: string
  /** Set for a file. */
  file: DraftFileInfo | null
  children: TreeNode[]
}

/** Arranges files by folder: folders first, each level by name. */
export function treeOf(files: readonly DraftFileInfo[]): TreeNode[] {
  const root: TreeNode = { name: '', path: '', file: null, children: [] }
  const folders = new Map([['', root]])
  const folderAt = (path: string): TreeNode => {
    const known = folders.get(path)
    if (known) return known
    const cut = path.lastIndexOf('/')
    const folder: TreeNode = { name: path.slice(cut + 1), path, file: null, children: [] }
    folders.set(path, folder)
    folderAt(cut === -1 ? '' : path.slice(0, cut)).children.push(folder)
    return folder
  }
  for (const file of files) {
    const cut = file.path.lastIndexOf('/')
    const parent = folderAt(cut === -1 ? '' : file.path.slice(0, cut))
    parent.children.push({ name: file.path.slice(cut + 1), path: file.path, file, children: [] })
  }
  for (const { children } of folders.values()) {
    children.sort((a, b) => Number(a.file !== null) - Number(b.file !== null) || (a.name < b.name ? -1 : 1))
  }
  return root.children
}
