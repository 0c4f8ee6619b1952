/**
 * What the codec makes of a type: the result of a step, the output of a run and the payload of a signal are what was stored,
 * not the object that the function returned. Fields stay; methods, private members and subclasses of binary views do not.
 * The types follow codec/json-codec.ts. The codec refuses instances of classes without `toJSON`, which types cannot tell
 * from plain objects.
 */

/** Stored and read back as they are. */
type Leaf =
  | string
  | number
  | bigint
  | boolean
  | null
  | undefined
  // biome-ignore lint/suspicious/noConfusingVoidType: a function without a result has one to store, which is undefined
  | void
  | Date
  | RegExp
  | URL
  | ArrayBuffer;

/** The codec refuses them, and nothing of them comes back. */
type Refused =
  | ((...args: never[]) => unknown)
  | (abstract new (
      ...args: never[]
    ) => unknown)
  | symbol
  | PromiseLike<unknown>;

/**
 * Views on bytes come back with their own memory and without what a subclass has added: a Buffer as a Uint8Array. Derived
 * from what `of` returns: whether these types have a parameter depends on the version of TypeScript.
 */
interface Views {
  Uint8Array: ReturnType<typeof Uint8Array.of>;
  Uint8ClampedArray: ReturnType<typeof Uint8ClampedArray.of>;
  Int8Array: ReturnType<typeof Int8Array.of>;
  Uint16Array: ReturnType<typeof Uint16Array.of>;
  Int16Array: ReturnType<typeof Int16Array.of>;
  Uint32Array: ReturnType<typeof Uint32Array.of>;
  Int32Array: ReturnType<typeof Int32Array.of>;
  Float32Array: ReturnType<typeof Float32Array.of>;
  Float64Array: ReturnType<typeof Float64Array.of>;
  BigInt64Array: ReturnType<typeof BigInt64Array.of>;
  BigUint64Array: ReturnType<typeof BigUint64Array.of>;
}

type View =
  | Uint8Array
  | Uint8ClampedArray
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | Float64Array
  | BigInt64Array
  | BigUint64Array;
type ViewOf<T extends View> = Views[T[typeof Symbol.toStringTag]];

declare const lost: unique symbol;

/**
 * The type as it comes back, with `lost` where something is missing. A mapped type without a filter on its keys: the compiler
 * can compare it with `T` while `T` is still a type parameter.
 */
type Marked<T> = 0 extends 1 & T
  ? T
  : unknown extends T
    ? T
    : T extends Leaf
      ? T
      : T extends Refused
        ? typeof lost
        : T extends View
          ? ViewOf<T>
          : T extends ReadonlyMap<infer K, infer V>
            ? Map<Marked<K>, Marked<V>>
            : T extends ReadonlySet<infer V>
              ? Set<Marked<V>>
              : T extends { toJSON(key: string): infer J }
                ? Marked<J>
                : T extends object
                  ? { -readonly [K in keyof T]: Marked<T[K]> }
                  : T;

/** The type as it comes back, without what is missing. */
type Reduced<T> = 0 extends 1 & T
  ? T
  : unknown extends T
    ? T
    : T extends Leaf
      ? T
      : T extends Refused
        ? never
        : T extends View
          ? ViewOf<T>
          : T extends ReadonlyMap<infer K, infer V>
            ? Map<Reduced<K>, Reduced<V>>
            : T extends ReadonlySet<infer V>
              ? Set<Reduced<V>>
              : T extends { toJSON(key: string): infer J }
                ? Reduced<J>
                : T extends readonly unknown[]
                  ? ReducedList<T>
                  : T extends object
                    ? StoredFields<T>
                    : T;

type ReducedList<T extends readonly unknown[]> = number extends T["length"]
  ? Reduced<T[number]>[]
  : { [K in keyof T]: Reduced<T[K]> };

type StoredFields<T> = { [K in keyof T as T[K] extends Refused ? never : K]: Reduced<T[K]> };

/**
 * `T` as it comes back from the store: `T` itself if nothing is lost, otherwise its fields without methods. Instances of
 * classes come back as what their `toJSON` returns; those without one are refused when they are stored.
 */
export type Stored<T> = [Marked<T>] extends [T] ? T : Reduced<T>;

type Fit<T> = [Marked<T>] extends [T] ? true : never;

/**
 * `never` if `T` loses something in the store, otherwise `unknown`. Beside a parameter it selects the overload that returns
 * `T` itself; the compiler also selects that one if `T` is a type parameter, so that helpers can be generic.
 */
export type Whole<T> = [Fit<T>] extends [never] ? never : unknown;

/** What a function that returns `T` must be besides a function: nothing, or, if `T` is a promise, something it is not. */
export type Synchronous<T> = [Extract<T, PromiseLike<unknown>>] extends [never]
  ? unknown
  : "this function is asynchronous: use ctx.step for work that takes time";
