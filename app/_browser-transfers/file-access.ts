/**
 * Gives access to files as the browser provides them: with a handle that survives a reload (Chromium), or only for the
 * lifetime of the page. Optional browser functions are looked up by name.
 */

export interface ChosenFile {
  /** Path relative to the choice, with `/` between folders. */
  path: string;
  file: File;
  /** Kept with the transfer. When null, the file must be chosen again after a reload. */
  handle: FileSystemFileHandle | null;
}

export interface Chosen {
  files: ChosenFile[];
  /** The chosen files and folders themselves, for which permission is requested after a reload. */
  roots: FileSystemHandle[];
}

type Opener = (options?: object) => Promise<unknown>;
const isHandle = (value: unknown): value is FileSystemHandle =>
  typeof value === "object" && value !== null && "kind" in value && "name" in value;
const isFileHandle = (handle: FileSystemHandle): handle is FileSystemFileHandle => handle.kind === "file";
const isFolderHandle = (handle: FileSystemHandle): handle is FileSystemDirectoryHandle => handle.kind === "directory";

/** Returns a picker function of the window; null where the browser lacks it. */
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

/** Returns whether an error means that the picker was closed without a choice. */
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

/** Opens the file picker. Null where the browser has no picker with handles; a file input replaces it then. */
export const pickFiles = (): Promise<Chosen | null> => openWith("showOpenFilePicker", { multiple: true });
/** Opens the folder picker. Files with other names are skipped before they are read. */
export const pickFolder = (isWanted: (name: string) => boolean = all): Promise<Chosen | null> =>
  openWith("showDirectoryPicker", { mode: "read" }, isWanted);

/** Returns the files of a file input. */
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

/** Returns dropped files and folders. It reads the event before the first `await`, because the event is empty afterwards. */
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

/** Returns whether these can be read now without asking the person. */
export async function mayRead(roots: readonly FileSystemHandle[]): Promise<boolean> {
  for (const root of roots) if ((await askPermission(root, "queryPermission")) !== "granted") return false;
  return true;
}

/** Requests permission from the person. Call it while handling a click: it needs user activation. */
export async function letRead(roots: readonly FileSystemHandle[]): Promise<boolean> {
  for (const root of roots) if ((await askPermission(root, "requestPermission")) !== "granted") return false;
  return true;
}

/** Asks for the target of a download; null when the picker was closed, undefined where there is none. */
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
