import { isIP } from "node:net";
import { constants } from "node:os";
import { KOFFI, loadNative } from "#worker/base/load-native.ts";
import { preferAes128 } from "./prefer-aes-128.ts";
import { read64, type Foreign, type Koffi } from "#worker/base/system-calls.ts";

/**
 * TLS by the OpenSSL that Node itself is linked with, on a TCP socket and without Node's streams: a record goes between our
 * buffer and the kernel in one call. OpenSSL makes the handshake, verifies the certificate and the name in it, and keeps all
 * keys. A handshake that fails here is made again by Node, which reports what is wrong.
 *
 * Handles are addresses of OpenSSL's objects. None may be used after `free`. No function keeps one of our buffers, except
 * between `readFrom(bytes)` and `readFrom(null)`.
 */
export interface TlsClient {
  /** Goes on with the handshake. "failed": Node must make it again. */
  shake(): "done" | "waits" | "failed";
  /** Reads records from `bytes` from now on, which must not change meanwhile; null: from the socket again. */
  readFrom(bytes: Buffer | null): void;
  /**
   * Returns how many bytes came into `into`, of one record at most. 0: the other side sends no more. Negative: the system's
   * error: EAGAIN when nothing is there now, EPROTO when the other side refuses us, EBADMSG for damaged records.
   */
  read(into: Buffer): number;
  /** Encrypts as many of `bytes` as there is room for, and returns how many. `flush` sends them. */
  encrypt(bytes: Buffer): number;
  /** Returns the number of encrypted bytes still to be sent. */
  pendingBytes(): number;
  /** Gives the kernel those that it has room for. Returns 0, or the system's error as a negative number. */
  flush(): number;
  /**
   * Returns a session with which a further connection can resume; null when the other side gave none. Must be released with
   * `dropTicket`.
   */
  ticket(): TlsTicket | null;
  free(): void;
}

/** A session of OpenSSL. */
export type TlsTicket = number & { readonly ticket: unique symbol };

export interface OpensslCalls {
  /** Makes the settings that all connections with these authorities share, before the first of them needs them. */
  prepare(ca: string | undefined): void;
  /** Creates the client side of TLS on a connected, non-blocking socket; null when that is not possible. */
  client(socketFd: number, about: { host: string; ca: string | undefined; resume: TlsTicket | null }): TlsClient | null;
  dropTicket(ticket: TlsTicket): void;
}

/** Constants of `openssl/ssl.h`, `bio.h` and `x509_vfy.h`, the same in all versions of OpenSSL 3. */
const SSL_CTRL_SET_MIN_PROTO_VERSION = 123;
const TLS1_2_VERSION = 0x0303;
const SSL_CTRL_MODE = 33;
/**
 * SSL_MODE_ENABLE_PARTIAL_WRITE, ACCEPT_MOVING_WRITE_BUFFER and AUTO_RETRY. Not RELEASE_BUFFERS: releasing them after each
 * record costs more than the memory is worth.
 */
const MODES = 0x1 | 0x2 | 0x4;
const SSL_CTRL_SET_READ_AHEAD = 41;
/** Bytes taken from the kernel in one call: several records. */
const READ_BYTES = 32 * 1024;
const SSL_CTRL_SET_TLSEXT_HOSTNAME = 55;
/**
 * SSL_OP_IGNORE_UNEXPECTED_EOF (bodies are counted, so an end without close_notify is accepted), NO_COMPRESSION,
 * NO_RENEGOTIATION.
 */
const OPTIONS = 2 ** 7 + 2 ** 17 + 2 ** 30;
const SSL_VERIFY_PEER = 1;
const BIO_C_SET_BUF_MEM_EOF_RETURN = 130;
const X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS = 4;
const X509_V_OK = 0;
const SSL_ERROR = { wantRead: 2, wantWrite: 3, system: 5, end: 6 };
/**
 * Most bytes encrypted ahead of the kernel on one connection: enough that the kernel takes much at a time. OpenSSL holds
 * them, and only the used part takes memory.
 */
const OUT_BYTES = 96 * 1024;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
/**
 * Bits of an error number that name its reason. Reasons from 1,000 on are alerts of the other side; alert 20 means damaged
 * records.
 */
const REASON_MASK = 0x7fffff;
const ALERTS_FROM = 1000;
const ALERT_BAD_RECORD = ALERTS_FROM + 20;
const ALPN = Buffer.from("\x08http/1.1", "latin1");

let found: OpensslCalls | null | undefined;

/** Returns the calls; null on another system, or in a worker without the native module. */
export function opensslCalls(): OpensslCalls | null {
  if (found === undefined) found = process.platform === "linux" ? callsBy(loadNative(KOFFI) as Koffi | null) : null;
  return found;
}

function callsBy(koffi: Koffi | null): OpensslCalls | null {
  if (koffi === null) return null;
  try {
    return callsOf(koffi, functionsOf(koffi));
  } catch {
    // This Node is linked with another library.
    return null;
  }
}

type Functions = ReturnType<typeof functionsOf>;

function functionsOf(koffi: Koffi) {
  const library = koffi.load(null);
  const handle = "uintptr_t";
  const of = (name: string, result: string, parameters: readonly string[]): Foreign =>
    library.func(name, result, parameters);
  return {
    method: of("TLS_client_method", handle, []),
    send: of("send", "int64", ["int", handle, "size_t", "int"]),
    newContext: of("SSL_CTX_new", handle, [handle]),
    contextControl: of("SSL_CTX_ctrl", "long", [handle, "int", "long", "void *"]),
    setOptions: of("SSL_CTX_set_options", "uint64", [handle, "uint64"]),
    setCiphers13: of("SSL_CTX_set_ciphersuites", "int", [handle, "void *"]),
    setCiphers12: of("SSL_CTX_set_cipher_list", "int", [handle, "void *"]),
    setReadBytes: of("SSL_CTX_set_default_read_buffer_len", "void", [handle, "size_t"]),
    setVerify: of("SSL_CTX_set_verify", "void", [handle, "int", "void *"]),
    setAlpn: of("SSL_CTX_set_alpn_protos", "int", [handle, "void *", "uint32"]),
    storeOf: of("SSL_CTX_get_cert_store", handle, [handle]),
    addToStore: of("X509_STORE_add_cert", "int", [handle, handle]),
    readCertificate: of("PEM_read_bio_X509", handle, [handle, "void *", "void *", "void *"]),
    freeCertificate: of("X509_free", "void", [handle]),
    memoryMethod: of("BIO_s_mem", handle, []),
    newBio: of("BIO_new", handle, [handle]),
    writeBio: of("BIO_write", "int", [handle, "void *", "int"]),
    newPair: of("BIO_new_bio_pair", "int", ["void *", "size_t", "void *", "size_t"]),
    peek: of("BIO_nread0", "int", [handle, "void *"]),
    skip: of("BIO_nread", "int", [handle, "void *", "int"]),
    pending: of("BIO_ctrl_pending", "size_t", [handle]),
    memory: of("BIO_new_mem_buf", handle, ["void *", "int"]),
    bioControl: of("BIO_ctrl", "long", [handle, "int", "long", "void *"]),
    keepBio: of("BIO_up_ref", "int", [handle]),
    freeBio: of("BIO_free_all", "void", [handle]),
    create: of("SSL_new", handle, [handle]),
    free: of("SSL_free", "void", [handle]),
    control: of("SSL_ctrl", "long", [handle, "int", "long", "void *"]),
    setFd: of("SSL_set_fd", "int", [handle, "int"]),
    readingBio: of("SSL_get_rbio", handle, [handle]),
    setWritingBio: of("SSL_set0_wbio", "void", [handle, handle]),
    setReadingBio: of("SSL_set0_rbio", "void", [handle, handle]),
    asClient: of("SSL_set_connect_state", "void", [handle]),
    checks: of("SSL_get0_param", handle, [handle]),
    setHostFlags: of("X509_VERIFY_PARAM_set_hostflags", "void", [handle, "uint32"]),
    setHost: of("X509_VERIFY_PARAM_set1_host", "int", [handle, "void *", "size_t"]),
    setAddress: of("X509_VERIFY_PARAM_set1_ip_asc", "int", [handle, "void *"]),
    verified: of("SSL_get_verify_result", "long", [handle]),
    shake: of("SSL_do_handshake", "int", [handle]),
    read: of("SSL_read", "int", [handle, "void *", "int"]),
    write: of("SSL_write", "int", [handle, "void *", "int"]),
    whatWasWrong: of("SSL_get_error", "int", [handle, "int"]),
    lastError: of("ERR_peek_last_error", "ulong", []),
    forgetErrors: of("ERR_clear_error", "void", []),
    setSession: of("SSL_set_session", "int", [handle, handle]),
    session: of("SSL_get1_session", handle, [handle]),
    isResumable: of("SSL_SESSION_is_resumable", "int", [handle]),
    freeSession: of("SSL_SESSION_free", "void", [handle]),
  };
}

const text = (value: string): Buffer => Buffer.from(`${value}\0`, "latin1");

/**
 * Creates the settings (SSL_CTX) of all connections that trust the same authorities; null when they cannot be set. Kept by
 * the caller.
 */
function contextOf(f: Functions, ca: string | undefined): number | null {
  // Not imported, because that is slow: see `open-socket.ts`.
  const { DEFAULT_CIPHERS, getCACertificates } = process.getBuiltinModule("node:tls");
  const context = f.newContext(f.method());
  const is13 = (name: string): boolean => name.startsWith("TLS_");
  const names = preferAes128(DEFAULT_CIPHERS).split(":");
  f.setOptions(context, OPTIONS);
  f.setVerify(context, SSL_VERIFY_PEER, null);
  f.setReadBytes(context, READ_BYTES);
  const isSet =
    f.contextControl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, null) === 1 &&
    (f.contextControl(context, SSL_CTRL_MODE, MODES, null) & MODES) === MODES &&
    f.contextControl(context, SSL_CTRL_SET_READ_AHEAD, 1, null) >= 0 &&
    f.setCiphers13(context, text(names.filter(is13).join(":"))) === 1 &&
    f.setCiphers12(context, text(names.filter((name) => !is13(name)).join(":"))) === 1 &&
    f.setAlpn(context, ALPN, ALPN.length) === 0;
  if (!isSet) return null;
  const pem = Buffer.from(ca ?? getCACertificates("default").join("\n"), "latin1");
  const bio = f.newBio(f.memoryMethod());
  f.writeBio(bio, pem, pem.length);
  const store = f.storeOf(context);
  for (;;) {
    const certificate = f.readCertificate(bio, null, null, null);
    if (certificate === 0) break;
    f.addToStore(store, certificate);
    f.freeCertificate(certificate);
  }
  f.freeBio(bio);
  // The end of the certificates leaves an error, too.
  f.forgetErrors();
  return context;
}

function callsOf(koffi: Koffi, f: Functions): OpensslCalls {
  const contexts = new Map<string | undefined, number | null>();
  const contextFor = (ca: string | undefined): number | null => {
    let context = contexts.get(ca);
    if (context === undefined) {
      context = contextOf(f, ca);
      contexts.set(ca, context);
    }
    return context;
  };
  return {
    prepare: (ca) => void contextFor(ca),
    client: (socketFd, { host, ca, resume }) => {
      const context = contextFor(ca);
      if (context === null) return null;
      const ssl = f.create(context);
      const checks = f.checks(ssl);
      const isAddress = isIP(host) !== 0;
      const name = text(host);
      f.setHostFlags(checks, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
      // SNI carries names only, so none is sent for an IP address.
      const isNamed = isAddress
        ? f.setAddress(checks, name) === 1
        : f.setHost(checks, name, 0) === 1 && f.control(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, 0, name) === 1;
      const [inside, outside] = [Buffer.alloc(8), Buffer.alloc(8)];
      const isMade = isNamed && f.setFd(ssl, socketFd) === 1 && f.newPair(inside, OUT_BYTES, outside, 1) === 1;
      if (!isMade) {
        f.free(ssl);
        return null;
      }
      f.setWritingBio(ssl, read64(inside, 0));
      if (resume !== null) f.setSession(ssl, resume);
      f.asClient(ssl);
      return clientOf({ koffi, f, ssl, socketFd, out: read64(outside, 0) });
    },
    dropTicket: (ticket) => void f.freeSession(ticket),
  };
}

/** Creates the client of one connection. `out`: BIO from which the encrypted bytes are taken. */
function clientOf(about: { koffi: Koffi; f: Functions; ssl: number; socketFd: number; out: number }): TlsClient {
  const { koffi, f, ssl, socketFd, out } = about;
  const at = Buffer.alloc(8);
  const socketBio = f.readingBio(ssl);
  // Keeps the socket's BIO alive while records are read from memory.
  f.keepBio(socketBio);
  /** Returns the error of a call that returned `count`, which is not more than 0, as a negative number; 0 for the end. */
  const errorOf = (count: number): number => {
    const errno = koffi.errno();
    const what = f.whatWasWrong(ssl, count);
    if (what === SSL_ERROR.wantRead || what === SSL_ERROR.wantWrite) return -constants.errno.EAGAIN;
    if (what === SSL_ERROR.end) return 0;
    if (what === SSL_ERROR.system && errno > 0) return -errno;
    const reason = f.lastError() & REASON_MASK;
    f.forgetErrors();
    return reason >= ALERTS_FROM && reason !== ALERT_BAD_RECORD ? -constants.errno.EPROTO : -constants.errno.EBADMSG;
  };
  return {
    shake: () => {
      f.forgetErrors();
      const outcome = f.shake(ssl);
      const error = outcome === 1 ? 0 : errorOf(outcome);
      if (outcome === 1) return f.verified(ssl) === X509_V_OK ? "done" : "failed";
      return error === -constants.errno.EAGAIN ? "waits" : "failed";
    },
    readFrom: (bytes) => {
      if (bytes === null) {
        f.keepBio(socketBio);
        f.setReadingBio(ssl, socketBio);
        return;
      }
      const bio = f.memory(bytes, bytes.length);
      // The end of `bytes` means "more is to come", not the end of the connection.
      f.bioControl(bio, BIO_C_SET_BUF_MEM_EOF_RETURN, -1, null);
      f.setReadingBio(ssl, bio);
    },
    read: (into) => {
      const count = f.read(ssl, into, into.length);
      return count > 0 ? count : errorOf(count);
    },
    encrypt: (bytes) => {
      let done = 0;
      // Each call encrypts one record.
      while (done < bytes.length) {
        const count = f.write(ssl, done === 0 ? bytes : bytes.subarray(done), bytes.length - done);
        if (count <= 0) break;
        done += count;
      }
      return done;
    },
    pendingBytes: () => f.pending(out),
    flush: () => {
      for (;;) {
        const bytes = f.peek(out, at);
        if (bytes <= 0) return 0;
        const took = f.send(socketFd, read64(at, 0), bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (took < 0) return koffi.errno() === constants.errno.EAGAIN ? 0 : -koffi.errno();
        f.skip(out, at, took);
        if (took < bytes) return 0;
      }
    },
    ticket: () => {
      const session = f.session(ssl);
      if (session === 0) return null;
      if (f.isResumable(session) === 1) return session as TlsTicket;
      f.freeSession(session);
      return null;
    },
    free: () => {
      f.free(ssl);
      f.freeBio(out);
      f.freeBio(socketBio);
    },
  };
}
