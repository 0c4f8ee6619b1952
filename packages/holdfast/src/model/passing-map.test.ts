import fc from "fast-check";
import { expect, test } from "vitest";
import { PassingMap } from "./passing-map.ts";

const OPERATION = fc.record({
  type: fc.constantFrom("set", "set", "delete", "delete", "clear"),
  key: fc.integer({ min: 0, max: 60 }),
});

test("it has what a map has, in the same order, however many entries have passed through", () => {
  fc.assert(
    fc.property(fc.array(OPERATION, { maxLength: 400 }), (operations) => {
      const map = new Map<number, number>();
      const passing = new PassingMap<number, number>();
      operations.forEach(({ type, key }, i) => {
        if (type === "set") for (const each of [map, passing]) each.set(key, i);
        else if (type === "delete") expect(passing.delete(key)).toBe(map.delete(key));
        // Seldom: otherwise there would never be much in it.
        else if (key === 0) for (const each of [map, passing]) each.clear();
        expect([passing.size, passing.has(key), passing.get(key)]).toEqual([map.size, map.has(key), map.get(key)]);
      });
      expect([...passing]).toEqual([...map]);
      expect([...passing.values()]).toEqual([...map.values()]);
    }),
  );
});
