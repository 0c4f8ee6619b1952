/** The process in which the engine runs, and what it can see of the program and the machine. */
export interface Environment {
  /** Changes whenever the file does, or a file of the same program that it imports; undefined when that cannot be told. */
  programDigest(file: string): string | undefined;
}
