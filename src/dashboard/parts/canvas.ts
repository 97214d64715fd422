/** What is drawn: sharp on any screen, and again for another size or other colours. */
import { useEffect } from 'react';

/** A canvas as large as its element, in pixels of the screen. */
export function begin(canvas: HTMLCanvasElement): {
  context: CanvasRenderingContext2D;
  width: number;
  height: number;
} {
  const { clientWidth: width, clientHeight: height } = canvas;
  const scale = devicePixelRatio;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext('2d') as CanvasRenderingContext2D;
  context.scale(scale, scale);
  return { context, width, height };
}

/** A colour of the page as it is there at this moment. */
export function colourOf(element: HTMLElement, name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${name})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** Draws at first, when something changes, and for another size or other colours. */
export function useDrawn<E extends HTMLElement>(
  drawn: { readonly current: E | null },
  draw: (element: E) => void,
  changes: readonly unknown[],
): void {
  useEffect(() => {
    const element = drawn.current;
    if (element === null) return;
    const again = () => draw(element);
    const sizes = new ResizeObserver(again);
    sizes.observe(element);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', again);
    return () => {
      sizes.disconnect();
      scheme.removeEventListener('change', again);
    };
  }, changes);
}
