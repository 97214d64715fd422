/** The types that are in use and that somebody may mean by what they have typed, when nothing more is typed for a moment. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Types } from '../../generated/dashboard.ts';
import { ask } from './connection.ts';

const typingMs = 200;
/** Of names, and of what is searched for. */
const maxLength = 200;

/** What was typed, once nothing more was for a moment. */
export function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), typingMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

/** Those that the text is, or begins with before a space, and up to 20 that contain it. */
export function useTypes(text: string, isAsked = true): readonly string[] {
  const settled = useSettled(text);
  const { data } = useQuery({
    queryKey: ['types', settled],
    queryFn: async ({ signal }) => {
      const find = settled === '' || settled.length > maxLength ? null : settled;
      const { found, named } = await ask(Types, { find, named: beginningsOf(settled) }, signal);
      return [...new Set([...(named ?? []), ...(found ?? [])].map(({ type }) => type))];
    },
    enabled: isAsked,
    placeholderData: keepPreviousData,
  });
  return data ?? [];
}

/** Null where there is none: all. */
function beginningsOf(text: string): string[] | null {
  const ends = [...text.matchAll(/ |$/g)].map(({ index }) => index);
  const beginnings = ends.map((end) => text.slice(0, end));
  const possible = beginnings.filter(({ length }) => length > 0 && length <= maxLength);
  return possible.length === 0 ? null : possible;
}
