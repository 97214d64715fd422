/** What `replayDeadLetters` makes of a payload, for a look at it before: the same as `jobtree.merge_patch`, in the browser. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [key, value] of Object.entries(patch))
    if (value === null) merged.delete(key);
    else merged.set(key, mergePatch(merged.get(key), value));
  return Object.fromEntries(merged);
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
