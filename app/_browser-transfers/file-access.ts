/**
 * Files as a browser gives them: with a handle that outlives the page where it can (Chromium), otherwise for as long as the
 * page lives. What a browser lacks is asked for by name, so that nothing here depends on one.
 */

export interface ChosenFile {
  /** Relative to what was chosen, `/` between folders. */
  path: string;
  file: File;
  /** Kept with the transfer; null: after a reload the file has to be chosen again. */
  handle: FileSystemFileHandle | null;
}

export interface Chosen {
  files: ChosenFile[];
  /** What permission is asked for after a reload: the chosen things themselves, not each file in them. */
  roots: FileSystemHandle[];
}

type Opener = (options?: object) => Promise<unknown>;
const isHandle = (value: unknown): value is FileSystemHandle =>
  typeof value === "object" && value !== null && "kind" in value && "name" in value;
const isFileHandle = (handle: FileSystemHandle): handle is FileSystemFileHandle => handle.kind === "file";
const isFolderHandle = (handle: FileSystemHandle): handle is FileSystemDirectoryHandle => handle.kind === "directory";

/** A function of the window that only some browsers have. */
function opener(name: string): Opener | null {
  const found: unknown = Reflect.get(window, name);
  return typeof found === "function"
    ? (options) => Promise.resolve(Reflect.apply(found, window, [options]) as unknown)
    : null;
}

interface Reading {
  into: ChosenFile[];
  isWanted: (name: string) => boolean;
}

async function readHandle(handle: FileSystemHandle, path: string, reading: Reading): Promise<void> {
  if (isFileHandle(handle)) {
    if (reading.isWanted(handle.name)) reading.into.push({ path, file: await handle.getFile(), handle });
  } else if (isFolderHandle(handle)) {
    for await (const [name, inner] of handle.entries()) await readHandle(inner, `${path}/${name}`, reading);
  }
}

const all: Reading["isWanted"] = () => true;

async function fromHandles(roots: FileSystemHandle[], isWanted: Reading["isWanted"]): Promise<Chosen> {
  const files: ChosenFile[] = [];
  for (const root of roots) await readHandle(root, root.name, { into: files, isWanted });
  return { files, roots };
}

/** What closing a picker without a choice gives. */
const isDismissed = (error: unknown): boolean => error instanceof DOMException && error.name === "AbortError";

async function openWith(name: string, options: object, isWanted = all): Promise<Chosen | null> {
  const open = opener(name);
  if (open === null) return null;
  try {
    const picked = await open(options);
    return await fromHandles((Array.isArray(picked) ? picked : [picked]).filter(isHandle), isWanted);
  } catch (error) {
    if (isDismissed(error)) return { files: [], roots: [] };
    throw error;
  }
}

/** Null where the browser has no picker that gives handles: a file input does it then. */
export const pickFiles = (): Promise<Chosen | null> => openWith("showOpenFilePicker", { multiple: true });
/** Skips files whose names are not wanted, before anything of them is read. */
export const pickFolder = (isWanted: (name: string) => boolean = all): Promise<Chosen | null> =>
  openWith("showDirectoryPicker", { mode: "read" }, isWanted);

/** What a file input holds. */
export const fromInput = (list: FileList): Chosen => ({
  files: [...list].map((file) => ({
    path: file.webkitRelativePath === "" ? file.name : file.webkitRelativePath,
    file,
    handle: null,
  })),
  roots: [],
});

const fileOf = (entry: FileSystemFileEntry): Promise<File> =>
  new Promise((resolve, reject) => entry.file(resolve, reject));

async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return all;
    all.push(...some);
  }
}

async function readEntry(entry: FileSystemEntry, into: ChosenFile[]): Promise<void> {
  if (entry.isFile) {
    const file = await fileOf(entry as FileSystemFileEntry);
    into.push({ path: entry.fullPath.replace(/^\//, ""), file, handle: null });
  } else {
    for (const inner of await entriesOf(entry as FileSystemDirectoryEntry)) await readEntry(inner, into);
  }
}

function handleOf(item: DataTransferItem): Promise<unknown> | null {
  const ask: unknown = Reflect.get(item, "getAsFileSystemHandle");
  return typeof ask === "function" ? Promise.resolve(Reflect.apply(ask, item, []) as unknown).catch(() => null) : null;
}

/** What was dropped: files and folders. Everything is asked of the event before the first wait, as it is empty after. */
export async function fromDrop(transfer: DataTransfer): Promise<Chosen> {
  const asked = [...transfer.items]
    .filter((item) => item.kind === "file")
    .map((item) => ({ handle: handleOf(item), entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
  const chosen: Chosen = { files: [], roots: [] };
  for (const { handle, entry, file } of asked) {
    const given = await handle;
    if (isHandle(given)) {
      chosen.roots.push(given);
      await readHandle(given, given.name, { into: chosen.files, isWanted: all });
    } else if (entry !== null) await readEntry(entry, chosen.files);
    else if (file !== null) chosen.files.push({ path: file.name, file, handle: null });
  }
  return chosen;
}

type Permission = "granted" | "denied" | "prompt";

async function askPermission(
  handle: FileSystemHandle,
  name: "queryPermission" | "requestPermission",
): Promise<Permission> {
  const ask: unknown = Reflect.get(handle, name);
  if (typeof ask !== "function") return "granted";
  return (await Promise.resolve(Reflect.apply(ask, handle, [{ mode: "read" }]) as unknown)) as Permission;
}

/** Whether these may be read now, without asking anybody. */
export async function mayRead(roots: readonly FileSystemHandle[]): Promise<boolean> {
  for (const root of roots) if ((await askPermission(root, "queryPermission")) !== "granted") return false;
  return true;
}

/** Asks the person; only while a click is being answered. */
export async function letRead(roots: readonly FileSystemHandle[]): Promise<boolean> {
  for (const root of roots) if ((await askPermission(root, "requestPermission")) !== "granted") return false;
  return true;
}

/** Where a download shall go; null when the person closed the picker, undefined where there is none. */
export async function pickTarget(name: string): Promise<FileSystemFileHandle | null | undefined> {
  const open = opener("showSaveFilePicker");
  if (open === null) return undefined;
  try {
    const picked = await open({ suggestedName: name });
    return isHandle(picked) && isFileHandle(picked) ? picked : null;
  } catch (error) {
    if (isDismissed(error)) return null;
    throw error;
  }
}
