// CHANGELOG.md: what is unreleased becomes the section of a version, and that section is what the release says.

const UNRELEASED = "## [Unreleased]\n";

/** The text below the heading, up to the next one. */
export function unreleased(changelog: string): string {
  const from = changelog.indexOf(UNRELEASED);
  if (from < 0) throw new Error("CHANGELOG.md has no section [Unreleased]");
  const body = changelog.slice(from + UNRELEASED.length);
  const end = body.search(/^## \[/m);
  return (end < 0 ? body : body.slice(0, end)).trim();
}

/** The notes of a version, as its section has them. */
export function notesOf(changelog: string, version: string): string {
  const heading = new RegExp(`^## \\[${version.replaceAll(".", "\\.")}\\].*\\n`, "m").exec(changelog);
  if (heading === null) throw new Error(`CHANGELOG.md has no section [${version}]`);
  const body = changelog.slice(heading.index + heading[0].length);
  const end = body.search(/^## \[/m);
  return `${(end < 0 ? body : body.slice(0, end)).trim()}\n`;
}

/** With the unreleased changes under the version, and an empty section above. */
export function released(changelog: string, version: string, day: string): string {
  if (unreleased(changelog) === "")
    throw new Error("CHANGELOG.md has nothing under [Unreleased]: there is nothing to release");
  return changelog.replace(UNRELEASED, `${UNRELEASED}\n## [${version}] - ${day}\n`);
}
