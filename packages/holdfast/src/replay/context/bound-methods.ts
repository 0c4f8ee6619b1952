/** By the place of the method. Of a class, because each leads to the whole run (passing-map.ts). */
export class BoundMethods {
  [place: number]: unknown;
}

/**
 * Makes every method of a class usable on its own (`const { step } = ctx`): reading a method returns it bound to its object.
 * A method is bound when first read and then kept, so that an object pays only for the methods that are used. Binding all of
 * them at creation would cost several times as much, and most workflows use three or four.
 */
export function bindWhenRead<T extends object>(prototype: T, boundOf: (self: T) => BoundMethods): void {
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
