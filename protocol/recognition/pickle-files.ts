/** Names of files that frameworks write with pickle; loading such a file executes its content. */
const PICKLE = /\.(pt|pth|ckpt|bin|pkl|pickle|joblib|distcp|nemo)$|(^|\/)\.metadata$/i;

/** Returns whether a file of this name may be a pickle. No name proves the opposite: a program loads what it expects there. */
export const mayBePickle = (path: string): boolean => PICKLE.test(path);
