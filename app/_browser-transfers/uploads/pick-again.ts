import { fromInput, pickFiles, pickFolder, type Chosen } from "../file-access.ts";

/**
 * Asks again for files, or for the folder that contains them: with handles where the browser supports them, otherwise by a
 * file input. In a folder, the picker with handles reads only files whose names are wanted.
 */
export async function pickAgain(what: Pick, isWanted: (name: string) => boolean): Promise<Chosen> {
  const picked = await (what === "folder" ? pickFolder(isWanted) : pickFiles());
  if (picked !== null) return picked;
  return new Promise((resolve) => {
    const input = document.createElement("input");
    input.type = "file";
    if (what === "folder") input.setAttribute("webkitdirectory", "");
    else input.multiple = true;
    input.addEventListener("change", () => resolve(fromInput(input.files ?? new DataTransfer().files)));
    input.addEventListener("cancel", () => resolve({ files: [], roots: [] }));
    input.click();
  });
}

type Pick = "folder" | "files";
