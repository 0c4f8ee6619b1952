/**
 * Makes every method of a class readable on its own (`const { step } = ctx`): what is read is bound to its object. Bound when
 * first read and kept in the object's list, so that an object pays only for the methods that are used on it. Binding all of them
 * when it is made would cost several times as much, and most workflows use three or four.
 */
export function bindWhenRead<T extends object>(prototype: T, boundOf: (self: T) => unknown[]): void {
  const methods = Object.entries(Object.getOwnPropertyDescriptors(prototype)).filter(
    ([name, { value }]) => name !== "constructor" && typeof value === "function",
  );
  for (const [place, [name, { value: method }]] of methods.entries()) {
    Object.defineProperty(prototype, name, {
      configurable: true,
      get(this: T): unknown {
        const bound = boundOf(this);
        bound[place] ??= method.bind(this);
        return bound[place];
      },
    });
  }
}
