export function findChromium(environment?: Readonly<Record<string, string | undefined>>): string | undefined;
export function findOrUnpackChromium(): {
  readonly program?: string;
  readonly missing?: string;
};
