// A jump on a tape in the dashboard, as a person makes it with the mouse; for tests and for the bench.

/** A script for the page: presses the rail there, and resolves with the time until other entries are on the screen. */
export function jumpTo(share: number): string {
  return `(async () => {
    const rail = document.querySelector('[role=slider]')
    const { x, y, height } = rail.getBoundingClientRect()
    const first = () => document.querySelector('article')?.getAttribute('aria-label')
    const before = first()
    const start = performance.now()
    rail.setPointerCapture = () => {}
    const at = { clientX: x + 5, clientY: y + height * ${share}, pointerId: 1, buttons: 1, bubbles: true }
    rail.dispatchEvent(new PointerEvent('pointerdown', at))
    while (first() === before) await new Promise(requestAnimationFrame)
    return performance.now() - start
  })()`
}
