// Asks the server this page came from. Keeps the token; tells listeners when the server goes and comes.

const TOKEN = "headrace.token";
const PATIENCE_MS = 15_000;

/** An answer that says no; `where` and `fix` are headrace's own parts of an error. */
export class ApiError extends Error {
  constructor(message, { status = 0, kind, where, fix } = {}) {
    super(message);
    Object.assign(this, { status, kind, where, fix });
  }
  get lost() {
    return this.status === 0;
  }
}

export const token = {
  get: () => sessionStorage.getItem(TOKEN),
  set: (value) => sessionStorage.setItem(TOKEN, value),
  clear: () => sessionStorage.removeItem(TOKEN),
};

export const get = async (path, options) => (await ask("GET", path, options)).json();
export const getText = async (path, options) => (await ask("GET", path, options)).text();

/** Like get, but null where the server does not have it: for additions to Flink's API. */
export async function getIfThere(path, options) {
  try {
    return await get(path, options);
  } catch (error) {
    if ([400, 404, 409, 501].includes(error.status)) return null;
    throw error;
  }
}

export async function send(method, path, body) {
  const form = body instanceof FormData;
  const answer = await ask(method, path, {
    body: body === undefined || form ? body : JSON.stringify(body),
    headers: body === undefined || form ? {} : { "Content-Type": "application/json" },
    patience: form ? 600_000 : 60_000,
  });
  const text = await answer.text();
  return text ? JSON.parse(text) : {};
}

async function ask(method, path, { signal, body, headers = {}, patience = PATIENCE_MS } = {}) {
  const limit = AbortSignal.timeout(patience);
  const all = { Accept: "application/json, text/plain", ...headers };
  if (token.get()) all.Authorization = `Bearer ${token.get()}`;
  let answer;
  try {
    answer = await fetch(path, {
      method,
      body,
      headers: all,
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
      credentials: "omit",
      cache: "no-store",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(limit.aborted ? "The server did not answer in time." : "The server does not answer.");
  }
  if (!answer.ok) throw await refusal(answer);
  return answer;
}

async function refusal(answer) {
  const parts = { status: answer.status };
  let message = `The server answered ${answer.status}.`;
  try {
    const body = await answer.json();
    // `message` is ours and comes with its parts; Flink's servers have a list of texts
    message = body.message ?? body.errors?.find(Boolean) ?? message;
    Object.assign(parts, { kind: body.kind, where: body.where, fix: body.fix });
  } catch {
    // no JSON: the status has to do
  }
  return new ApiError(message, parts);
}

export const q = encodeURIComponent;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits for one of Flink's asynchronous operations. Returns its result; raises what it failed with. */
export async function finished(path) {
  for (let pause = 300; ; pause = Math.min(pause * 1.5, 3000)) {
    const { status, operation } = await get(path);
    if (status?.id === "COMPLETED") {
      const cause = operation?.["failure-cause"] ?? operation?.failureCause; // Flink has both words
      if (cause) throw new ApiError(operation.message ?? firstLines(cause), { ...operation, status: 500 });
      return operation ?? {};
    }
    await sleep(pause);
  }
}

const firstLines = (cause) =>
  String(cause["stack-trace"] ?? cause.class ?? "It failed.")
    .split("\n")
    .slice(0, 6)
    .join("\n");
