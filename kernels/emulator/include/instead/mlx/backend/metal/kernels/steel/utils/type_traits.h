// Stands in for MLX's file of this name, which has a specialisation for each address space; here all pointers are alike.
namespace metal {

template <class T>
struct is_empty : bool_constant<__is_empty(T)> {};
template <class... T>
struct make_void {
  using type = void;
};
template <class... T>
using void_t = typename make_void<T...>::type;
template <class T>
struct pointer_element {
  using type = remove_pointer_t<remove_cv_t<T>>;
};
template <class T>
using pointer_element_t = typename pointer_element<T>::type;

}  // namespace metal
