/** Who is signed in: what they may not do is not shown. */
import { useQuery } from '@tanstack/react-query';
import { type Permission, Viewer } from '../../generated/dashboard-first.ts';
import { ask } from './connection.ts';

const useViewerQuery = () =>
  useQuery({
    queryKey: ['viewer'],
    queryFn: ({ signal }) => ask(Viewer, {}, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });

export const useViewer = () => useViewerQuery().data?.viewer;

/** Why it is not known who it is. */
export const useViewerError = () => useViewerQuery().error;

export function useMay(): (permission: Permission) => boolean {
  const viewer = useViewer();
  return (permission) => viewer?.permissions.includes(permission) === true;
}
