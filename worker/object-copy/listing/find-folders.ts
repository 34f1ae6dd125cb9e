/** Finds names that are folders of other names too (`model` beside `model/config.json`), told in their order. */
export function createFolderFinder(): { add(name: string): void; readonly found: ReadonlySet<string> } {
  const found = new Set<string>();
  /** Those that the last name begins with, the shortest first: only these can be folders of what comes next. */
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
