import type { ModelRequest } from './request.ts'

type Predicate = (request: ModelRequest) => boolean

/** The requests seen, and the tests waiting for one or for quiet. */
export class Ledger {
  readonly requests: ModelRequest[] = []
  readonly #unclaimed: ModelRequest[] = []
  readonly #waiting = new Set<{
    predicate: Predicate
    resolve: (r: ModelRequest) => void
    reject: (e: Error) => void
  }>()
  #open = 0
  #quiet: (() => void)[] = []
  #closed = false

  add(request: ModelRequest): void {
    this.requests.push(request)
    this.#open += 1
    void request.ended.then(() => this.#oneEnded())
    for (const waiter of this.#waiting) {
      if (!waiter.predicate(request)) continue
      this.#waiting.delete(waiter)
      waiter.resolve(request)
      return
    }
    this.#unclaimed.push(request)
  }

  next(predicate: Predicate = () => true): Promise<ModelRequest> {
    const at = this.#unclaimed.findIndex((request) => predicate(request))
    const [found] = at < 0 ? [] : this.#unclaimed.splice(at, 1)
    if (found !== undefined) return Promise.resolve(found)
    if (this.#closed) return Promise.reject(this.#tooLate())
    return new Promise((resolve, reject) => this.#waiting.add({ predicate, resolve, reject }))
  }

  idle(): Promise<void> {
    if (this.#open === 0) return Promise.resolve()
    return new Promise((resolve) => this.#quiet.push(resolve))
  }

  close(): void {
    this.#closed = true
    for (const waiter of this.#waiting) waiter.reject(this.#tooLate())
    this.#waiting.clear()
  }

  #oneEnded(): void {
    this.#open -= 1
    if (this.#open > 0) return
    for (const resolve of this.#quiet) resolve()
    this.#quiet = []
  }

  #tooLate(): Error {
    return new Error(`the model server closed while a test waited for a request; it had seen ${this.requests.length}`)
  }
}
