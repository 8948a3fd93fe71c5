class A { constructor() { this.init(); } } class B extends A { init() { null.boom; } } new B();
