/** Names of files that frameworks write with pickle: loading such a file runs what is in it. */
const PICKLE = /\.(pt|pth|ckpt|bin|pkl|pickle|joblib|distcp|nemo)$|(^|\/)\.metadata$/i;

/** Whether a file of this name may be a pickle. The name alone proves nothing: a program loads what it expects there. */
export const mayBePickle = (path: string): boolean => PICKLE.test(path);
