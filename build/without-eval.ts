// Emscripten's glue code creates functions from text, which a page's Content-Security-Policy forbids. These functions
// always have one of two shapes. This file defines both as ordinary functions and substitutes them.

/** Calls a function of the WebAssembly module: converts the arguments and the result, and frees temporary values. */
const INVOKER = `var invokerFn=function(...given){
  if(given.length!==argCount-2)throwBindingError("function "+humanName+" called with "+given.length+" arguments, expected "+(argCount-2));
  var first=isClassMethodFunc?1:2,destructors=needsDestructorStack?[]:null,wired=[];
  if(isClassMethodFunc)wired.push(argTypes[1]["toWireType"](destructors,this));
  for(var i=2;i<argCount;++i)wired.push(argTypes[i]["toWireType"](destructors,given[i-2]));
  var rv=cppInvokerFunc(cppTargetFunc,...wired);
  if(needsDestructorStack)runDestructors(destructors);
  else for(var i=first;i<argCount;++i)if(argTypes[i].destructorFunction!==null)argTypes[i].destructorFunction(wired[i-first]);
  if(returns)return argTypes[0]["fromWireType"](rv)
};`

/** Calls a JavaScript function from the module: as a method, as a constructor, or with the first value as `this`. */
const METHOD_CALLER = `var invokerFunction=function(obj,func,destructorsRef,given){
  var values=[],offset=0;
  for(var i=0;i<argCount;++i){values.push(types[i].readValueFromPointer(given+offset));offset+=types[i]["argPackAdvance"]}
  var rv=kind===1?Reflect.construct(func,values):kind===0?func.call(obj,...values):func.call(...values);
  if(!retType.isVoid)return emval_returnValue(retType,destructorsRef,rv)
};`

/** The start and end of each shape in the glue code, with its replacement. */
const PLACES = [
  ['let[args,invokerFnBody]=createJsInvoker(', 'var invokerFn=newFunc(Function,args)(...closureArgs);', INVOKER],
  [
    'var functionBody=`return function (obj, func, ',
    'var invokerFunction=newFunc(Function,params)(...args);',
    METHOD_CALLER,
  ],
] as const

/**
 * Returns the same program without functions made from text.
 *
 * @throws when the code differs from the known version: a new version must be reviewed
 */
export function withoutEval(source: string): string {
  let text = source
  for (const [from, to, instead] of PLACES) {
    const start = text.indexOf(from)
    const end = text.indexOf(to, start)
    if (start === -1 || end === -1) throw new Error(`The glue code has changed: there is no ${from}`)
    text = text.slice(0, start) + instead + text.slice(end + to.length)
  }
  if (/newFunc\(Function|new Function\b|\beval\(/.test(text))
    throw new Error('The glue code makes functions from text.')
  return text
}
