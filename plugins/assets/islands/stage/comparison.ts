import type { Viewer } from '../model-viewer.ts'

/** A version of a model: its address, and its name with its size. */
interface Version {
  src: string
  label: string
}

/** A comparison of two versions of a model, which ends with `end`. */
export interface Comparison {
  end(): void
}

/**
 * Shows a second version of a model over the first one, with a slider that moves the border between them. The camera of the
 * first one moves both.
 *
 * @param viewer shows the first version
 * @param create makes the viewer of the second one
 */
export function compare(
  stage: HTMLElement,
  viewer: Viewer,
  { create, versions: [left, right] }: { create: (src: string) => Viewer; versions: [Version, Version] },
): Comparison {
  const second = create(right.src)
  // It follows the first one, which the keyboard and pointers move.
  second.inert = true
  second.classList.add('stage-second')
  const box = document.createElement('div')
  box.className = 'stage-compare'
  const slider = document.createElement('input')
  Object.assign(slider, { type: 'range', min: '0', max: '100', value: '50' })
  slider.setAttribute('aria-label', `Border between ${left.label} and ${right.label}`)
  const [leftName, rightName] = [left, right].map(({ label }) => {
    const name = document.createElement('span')
    name.textContent = label
    return name
  }) as [HTMLElement, HTMLElement]
  box.append(leftName, slider, rightName)
  const divide = () => {
    stage.style.setProperty('--border', `${slider.value}%`)
    slider.setAttribute('aria-valuetext', `${slider.value} % as uploaded`)
  }
  const follow = () => {
    const { theta, phi, radius } = viewer.getCameraOrbit()
    const { x, y, z } = viewer.getCameraTarget()
    second.setAttribute('camera-orbit', `${theta}rad ${phi}rad ${radius}m`)
    second.setAttribute('camera-target', `${x}m ${y}m ${z}m`)
    second.setAttribute('field-of-view', `${viewer.getFieldOfView()}deg`)
    second.jumpCameraToGoal()
  }
  const isLoaded = () => {
    // Both show the same moment.
    for (const one of [viewer, second]) {
      one.pause()
      one.currentTime = 0
    }
    follow()
    stage.dataset.compared = ''
  }
  slider.addEventListener('input', divide)
  viewer.addEventListener('camera-change', follow)
  second.addEventListener('load', isLoaded)
  divide()
  stage.append(second, box)
  slider.focus({ preventScroll: true })
  return {
    end() {
      viewer.removeEventListener('camera-change', follow)
      second.remove()
      box.remove()
      delete stage.dataset.compared
    },
  }
}
