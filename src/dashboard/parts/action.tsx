/** A button that changes something: its dialog says first what, and how much. */
import { useMay } from '../data/viewer.ts';
import { type ActionProps, useDialogOf } from './opened-action.ts';

export function Action<V>(props: ActionProps<V>) {
  const may = useMay();
  return may(props.needs) ? <Offered {...props} /> : null;
}

function Offered<V>(props: ActionProps<V>) {
  const open = useDialogOf(props);
  return (
    <button
      type="button"
      className={props.danger ? 'danger' : undefined}
      aria-haspopup="dialog"
      aria-keyshortcuts={props.shortcut}
      onClick={open}
    >
      {props.label}
    </button>
  );
}
