/** Who is signed in: what they may not do is not shown. */
import { useQuery } from '@tanstack/react-query';
import { type Permission, Viewer } from '../../generated/dashboard-first.ts';
import { ask } from './connection.ts';

export function useViewer() {
  const { data } = useQuery({
    queryKey: ['viewer'],
    queryFn: ({ signal }) => ask(Viewer, {}, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return data?.viewer;
}

export function useMay(): (permission: Permission) => boolean {
  const viewer = useViewer();
  return (permission) => viewer?.permissions.includes(permission) === true;
}
