/** Finds names that are also folders of other names (`model` beside `model/config.json`). Names must be added in order. */
export function createFolderFinder(): { add(name: string): void; readonly found: ReadonlySet<string> } {
  const found = new Set<string>();
  /** The names of which the last name is an extension, shortest first; only these can be folders of later names. */
  const above: string[] = [];
  return {
    add: (name) => {
      for (let last = above.at(-1); last !== undefined && !name.startsWith(last); last = above.at(-1)) above.pop();
      for (const one of above) if (name.charAt(one.length) === "/") found.add(one);
      above.push(name);
    },
    found,
  };
}
