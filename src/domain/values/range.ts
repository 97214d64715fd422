/** Up to `take` rows between two keys, both exclusive; from the start, or from the end. */
export interface Range<Key> {
  readonly after?: Key | undefined;
  readonly before?: Key | undefined;
  readonly take: number;
  readonly backwards: boolean;
}

export const firstUuid = '00000000-0000-0000-0000-000000000000';
export const lastUuid = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
