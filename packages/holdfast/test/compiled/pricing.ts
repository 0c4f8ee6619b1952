export function total(cents: readonly number[]): number {
  return cents.reduce((sum, each) => sum + each, 0);
}

export async function sleep(_ms: number): Promise<void> {}
