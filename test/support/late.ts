/** Stands for what is only there once the hooks of the file have run. */
export function late<Made extends object>(made: () => Made): Made {
  return new Proxy({} as Made, {
    get(_, name) {
      const value = Reflect.get(made(), name);
      return typeof value === 'function' ? value.bind(made()) : value;
    },
  });
}
