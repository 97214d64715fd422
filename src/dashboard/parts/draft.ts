/**
 * What is entered in the fields of a dialog. It is no state of what shows the button: that may go while somebody writes, and with it whatever draws the
 * fields anew.
 */
import { type ChangeEvent, useRef } from 'react';

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

/** `initial` has what each field begins with. */
export function useDraft<K extends string>(initial: Readonly<Record<K, string>>) {
  const entered = useRef<Partial<Record<K, string>>>({}).current;
  const textOf = (name: K): string => entered[name] ?? initial[name];
  const set = (name: K, value: string) => {
    entered[name] = value;
  };
  return {
    textOf,
    set,
    /** Once it is carried out: the next one begins with what is so by then. */
    forget: () => {
      for (const name of Object.keys(entered) as K[]) delete entered[name];
    },
    /** The properties of the field. */
    field: (name: K) => ({
      defaultValue: textOf(name),
      onChange: ({ target }: ChangeEvent<Field>) => set(name, target.value),
    }),
  };
}
