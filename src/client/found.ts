import { JobtreeError } from './errors.ts';

export function found<T>(value: T | null | undefined, id: string): T {
  if (value == null) throw new JobtreeError('NOT_FOUND', `There is no ${id}.`, { field: 'id' });
  return value;
}
