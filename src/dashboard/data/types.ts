/** The types that are in use: up to 1,000, by name. */
import { useQuery } from '@tanstack/react-query';
import { Types } from '../../generated/dashboard.ts';
import { ask } from './connection.ts';

export const useTypes = (isAsked = true) =>
  useQuery({
    queryKey: ['types'],
    queryFn: async ({ signal }) => (await ask(Types, {}, signal)).queues?.map(({ type }) => type) ?? [],
    enabled: isAsked,
  });
