/** Complete trees on the screen that no subscription tells of: one for all of them says if somebody reopens one. */
import { useEffect, useMemo, useSyncExternalStore } from 'react';
import { CompleteTrees, type TreeStateFragment } from '../../generated/dashboard-first.ts';
import { useAnswer } from './live-answers.ts';

/** Rows come and go while somebody scrolls. */
const calmMs = 300;
/** Of one answer. */
const mostIds = 100;

const shown = new Set<string>();
const listeners = new Set<() => void>();
let ids: string[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;

function plan(): void {
  clearTimeout(timer);
  timer = setTimeout(() => {
    ids = [...shown].sort().slice(0, mostIds);
    for (const listener of listeners) listener();
  }, calmMs);
}

/** A row that shows a complete tree; undefined for any other. */
export function useAsComplete(id: string | undefined): void {
  useEffect(() => {
    if (id === undefined) return;
    shown.add(id);
    plan();
    return () => {
      shown.delete(id);
      plan();
    };
  }, [id]);
}

/** How the trees are by now whose rows show complete ones. */
export function useCompleteTrees(): ReadonlyMap<string, TreeStateFragment> {
  const asked = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => ids,
  );
  const { value } = useAnswer(CompleteTrees, asked.length > 0 ? { ids: asked } : undefined);
  return useMemo(() => {
    const states = new Map<string, TreeStateFragment>();
    for (const node of value?.nodes ?? [])
      if (node != null && 'treeProgress' in node && node.treeProgress != null)
        states.set(node.treeProgress.rootId, node.treeProgress);
    return states;
  }, [value]);
}
