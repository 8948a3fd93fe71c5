const o = { get a() { return this.b; }, get b() { throw new EvalError('from a getter'); } }; JSON.stringify({ x: [o] });
